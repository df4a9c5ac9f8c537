-- Calendars and price series: tenant-wide inputs besides plans.
-- The same tables as in postgres/, hash-partitioned by tenant_id.
-- created_at is microseconds since the epoch, UTC; ids are ordered bytewise.
-- One row a version, never changed. changed_start and changed_end bound what differs from the version before: instants
-- (seconds) of a price series, local days of a calendar (as seconds to their midnight in UTC); NULL when nothing that a
-- bill reads differs. The range that a comparison used is in the same unit.
CREATE TABLE shared_inputs (
    tenant_id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('calendar', 'price_series')),
    id TEXT COLLATE "C" NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    content BYTEA NOT NULL,
    summary TEXT NOT NULL,
    changed_start BIGINT,
    changed_end BIGINT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, kind, id, version),
    CHECK ((changed_start IS NULL) = (changed_end IS NULL)),
    CHECK (changed_start < changed_end)
) PARTITION BY HASH (tenant_id);
CREATE TABLE shared_inputs_p0 PARTITION OF shared_inputs FOR VALUES WITH (MODULUS 4, REMAINDER 0);
CREATE TABLE shared_inputs_p1 PARTITION OF shared_inputs FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE shared_inputs_p2 PARTITION OF shared_inputs FOR VALUES WITH (MODULUS 4, REMAINDER 2);
CREATE TABLE shared_inputs_p3 PARTITION OF shared_inputs FOR VALUES WITH (MODULUS 4, REMAINDER 3);

-- One row an input of a comparison: what decides whether a newer version makes it stale.
CREATE TABLE comparison_shared_inputs (
    tenant_id TEXT COLLATE "C" NOT NULL,
    comparison_id BYTEA NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    input_id TEXT COLLATE "C" NOT NULL,
    version INTEGER NOT NULL,
    used_start BIGINT NOT NULL,
    used_end BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, comparison_id, kind, input_id),
    FOREIGN KEY (tenant_id, comparison_id) REFERENCES comparisons (tenant_id, id),
    FOREIGN KEY (tenant_id, kind, input_id, version) REFERENCES shared_inputs (tenant_id, kind, id, version),
    CHECK (used_start <= used_end)
) PARTITION BY HASH (tenant_id);
CREATE TABLE comparison_shared_inputs_p0 PARTITION OF comparison_shared_inputs FOR VALUES WITH (MODULUS 4, REMAINDER 0);
CREATE TABLE comparison_shared_inputs_p1 PARTITION OF comparison_shared_inputs FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE comparison_shared_inputs_p2 PARTITION OF comparison_shared_inputs FOR VALUES WITH (MODULUS 4, REMAINDER 2);
CREATE TABLE comparison_shared_inputs_p3 PARTITION OF comparison_shared_inputs FOR VALUES WITH (MODULUS 4, REMAINDER 3);

CREATE INDEX comparison_shared_inputs_of_input
    ON comparison_shared_inputs (tenant_id, kind, input_id, comparison_id);
