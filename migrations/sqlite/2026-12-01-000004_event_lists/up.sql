-- Event lists: a third kind of shared input. The bounds of what differs and the range that a comparison used are instants
-- (seconds), as those of a price series.
-- SQLite changes no CHECK: the table is made anew, and with it the one that refers to it, since a table that is referred to
-- cannot be dropped.
CREATE TABLE new_shared_inputs (
    tenant_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('calendar', 'price_series', 'event_list')),
    id TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    content BLOB NOT NULL,
    summary TEXT NOT NULL,
    changed_start INTEGER,
    changed_end INTEGER,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, kind, id, version),
    CHECK ((changed_start IS NULL) = (changed_end IS NULL)),
    CHECK (changed_start < changed_end)
) STRICT;

INSERT INTO new_shared_inputs
    (tenant_id, kind, id, version, content, summary, changed_start, changed_end, created_at)
SELECT tenant_id, kind, id, version, content, summary, changed_start, changed_end, created_at FROM shared_inputs;

CREATE TABLE new_comparison_shared_inputs (
    tenant_id TEXT NOT NULL,
    comparison_id BLOB NOT NULL,
    kind TEXT NOT NULL,
    input_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    used_start INTEGER NOT NULL,
    used_end INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, comparison_id, kind, input_id),
    FOREIGN KEY (tenant_id, comparison_id) REFERENCES comparisons (tenant_id, id),
    FOREIGN KEY (tenant_id, kind, input_id, version) REFERENCES new_shared_inputs (tenant_id, kind, id, version),
    CHECK (used_start <= used_end)
) STRICT;

INSERT INTO new_comparison_shared_inputs
    (tenant_id, comparison_id, kind, input_id, version, used_start, used_end)
SELECT tenant_id, comparison_id, kind, input_id, version, used_start, used_end FROM comparison_shared_inputs;

DROP TABLE comparison_shared_inputs;
DROP TABLE shared_inputs;
-- Foreign keys follow a table that is renamed.
ALTER TABLE new_shared_inputs RENAME TO shared_inputs;
ALTER TABLE new_comparison_shared_inputs RENAME TO comparison_shared_inputs;

CREATE INDEX comparison_shared_inputs_of_input
    ON comparison_shared_inputs (tenant_id, kind, input_id, comparison_id);
