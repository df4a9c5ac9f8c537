-- Imports as records, which meter points feed which customer, and what each usage revision changed.
-- created_at is microseconds since the epoch, UTC; ids are UUIDv7, so that a later import has a greater one.
-- One row a commit of readings (kinds usage and revert), and one a file of many meter points, whose commits are its
-- parts. counts, choices and warnings are JSON. sha256 is that of the file, of a revert that of the file it takes back.
CREATE TABLE imports (
    tenant_id TEXT COLLATE "C" NOT NULL,
    id BYTEA NOT NULL CHECK (octet_length(id) = 16),
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('usage', 'meter_points', 'revert')),
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('done', 'incomplete', 'reverted')),
    customer_id TEXT COLLATE "C",
    part_of BYTEA,
    reverts BYTEA,
    reverted_by BYTEA,
    same_file_as BYTEA,
    file_name TEXT,
    sha256 BYTEA NOT NULL CHECK (octet_length(sha256) = 32),
    format TEXT NOT NULL,
    n_bytes BIGINT NOT NULL CHECK (n_bytes >= 0),
    on_conflict TEXT COLLATE "C",
    counts TEXT NOT NULL,
    choices TEXT NOT NULL,
    warnings TEXT NOT NULL,
    resume_key BYTEA,
    revision_before BIGINT,
    revision_after BIGINT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, reverts),
    FOREIGN KEY (tenant_id, customer_id) REFERENCES customers (tenant_id, id),
    FOREIGN KEY (tenant_id, part_of) REFERENCES imports (tenant_id, id),
    FOREIGN KEY (tenant_id, reverts) REFERENCES imports (tenant_id, id),
    CHECK ((customer_id IS NULL) = (kind = 'meter_points')),
    CHECK ((reverts IS NULL) = (kind <> 'revert')),
    CHECK ((resume_key IS NULL) = (kind <> 'meter_points')),
    CHECK ((revision_before IS NULL) = (customer_id IS NULL)),
    CHECK ((revision_after IS NULL) = (customer_id IS NULL)),
    CHECK (revision_after >= revision_before)
);

-- The same file again goes on with what is incomplete.
CREATE UNIQUE INDEX imports_unfinished_key ON imports (tenant_id, resume_key) WHERE state = 'incomplete';
CREATE INDEX imports_of_customer ON imports (tenant_id, customer_id, id);
CREATE INDEX imports_of_file ON imports (tenant_id, sha256, id);
CREATE INDEX imports_parts ON imports (tenant_id, part_of, id);

-- The meter points of a file of many, and what became of each. part_id is the import of the customer's commit; the meter
-- point is NULL where the file does not name it.
CREATE TABLE import_meter_points (
    tenant_id TEXT COLLATE "C" NOT NULL,
    import_id BYTEA NOT NULL,
    place INTEGER NOT NULL CHECK (place >= 0),
    meter_point_id TEXT COLLATE "C",
    n_readings BIGINT NOT NULL CHECK (n_readings >= 0),
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending', 'done', 'unmapped', 'refused')),
    customer_id TEXT COLLATE "C",
    part_id BYTEA,
    code TEXT COLLATE "C",
    detail TEXT,
    PRIMARY KEY (tenant_id, import_id, place),
    FOREIGN KEY (tenant_id, import_id) REFERENCES imports (tenant_id, id),
    FOREIGN KEY (tenant_id, part_id) REFERENCES imports (tenant_id, id),
    CHECK ((part_id IS NULL) = (state <> 'done')),
    CHECK ((code IS NULL) = (state IN ('pending', 'done')))
);

CREATE INDEX import_meter_points_of_customer ON import_meter_points (tenant_id, import_id, customer_id);

-- The meter points of the newest customer version, for files that name meter points.
CREATE TABLE customer_meter_points (
    tenant_id TEXT COLLATE "C" NOT NULL,
    meter_point_id TEXT COLLATE "C" NOT NULL,
    customer_id TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, meter_point_id, customer_id, channel),
    FOREIGN KEY (tenant_id, customer_id) REFERENCES customers (tenant_id, id)
);

CREATE INDEX customer_meter_points_of_customer ON customer_meter_points (tenant_id, customer_id);

INSERT INTO customer_meter_points (tenant_id, meter_point_id, customer_id, channel)
SELECT DISTINCT c.tenant_id, point ->> 'id', c.id, point ->> 'channel'
FROM customers AS c, jsonb_array_elements(coalesce(c.document::jsonb -> 'meter_points', '[]')) AS point;

-- The import that made the revision; NULL where it was made before imports were kept, when blocks that a later revision
-- replaced were kept only if a comparison had used them. channels is JSON: what changed, by channel.
ALTER TABLE usage_revisions ADD COLUMN import_id BYTEA;
ALTER TABLE usage_revisions ADD COLUMN removed BIGINT NOT NULL DEFAULT 0 CHECK (removed >= 0);
ALTER TABLE usage_revisions ADD COLUMN channels TEXT;
