-- Calendars and price series: tenant-wide inputs besides plans.
-- created_at is microseconds since the epoch, UTC.
-- One row a version, never changed. changed_start and changed_end bound what differs from the version before: instants
-- (seconds) of a price series, local days of a calendar (as seconds to their midnight in UTC); NULL when nothing that a
-- bill reads differs. The range that a comparison used is in the same unit.
CREATE TABLE shared_inputs (
    tenant_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('calendar', 'price_series')),
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

-- One row an input of a comparison: what decides whether a newer version makes it stale.
CREATE TABLE comparison_shared_inputs (
    tenant_id TEXT NOT NULL,
    comparison_id BLOB NOT NULL,
    kind TEXT NOT NULL,
    input_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    used_start INTEGER NOT NULL,
    used_end INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, comparison_id, kind, input_id),
    FOREIGN KEY (tenant_id, comparison_id) REFERENCES comparisons (tenant_id, id),
    FOREIGN KEY (tenant_id, kind, input_id, version) REFERENCES shared_inputs (tenant_id, kind, id, version),
    CHECK (used_start <= used_end)
) STRICT;

CREATE INDEX comparison_shared_inputs_of_input
    ON comparison_shared_inputs (tenant_id, kind, input_id, comparison_id);
