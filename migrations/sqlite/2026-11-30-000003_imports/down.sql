ALTER TABLE usage_revisions DROP COLUMN channels;
ALTER TABLE usage_revisions DROP COLUMN removed;
ALTER TABLE usage_revisions DROP COLUMN import_id;
DROP TABLE customer_meter_points;
DROP TABLE import_meter_points;
DROP TABLE imports;
