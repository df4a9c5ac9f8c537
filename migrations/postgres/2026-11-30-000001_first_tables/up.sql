-- Instants are microseconds since the epoch, UTC; window bounds are seconds; dates are local dates. Ids are ordered
-- bytewise (COLLATE "C"), as SQLite does.
-- tenant_id stands first in every key.

CREATE TABLE customers (
    tenant_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 1),
    usage_revision BIGINT NOT NULL CHECK (usage_revision >= 0),
    document TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE customer_versions (
    tenant_id TEXT COLLATE "C" NOT NULL,
    customer_id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 1),
    document TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, customer_id, version),
    FOREIGN KEY (tenant_id, customer_id) REFERENCES customers (tenant_id, id)
);

CREATE TABLE plans (
    tenant_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    newest_version INTEGER NOT NULL CHECK (newest_version >= 0),
    search_text TEXT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE plan_versions (
    tenant_id TEXT COLLATE "C" NOT NULL,
    plan_id TEXT COLLATE "C" NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    document TEXT NOT NULL,
    digest BYTEA NOT NULL CHECK (octet_length(digest) = 32),
    source TEXT,
    media_type TEXT NOT NULL,
    in_force_from DATE,
    in_force_to DATE,
    name TEXT NOT NULL,
    currency TEXT NOT NULL,
    provider TEXT,
    territory TEXT,
    tags TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, plan_id, version),
    FOREIGN KEY (tenant_id, plan_id) REFERENCES plans (tenant_id, id),
    CHECK (in_force_from IS NULL OR in_force_to IS NULL OR in_force_from < in_force_to)
);

-- Tags of the newest version, for lists.
CREATE TABLE plan_tags (
    tenant_id TEXT COLLATE "C" NOT NULL,
    tag TEXT COLLATE "C" NOT NULL,
    plan_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, tag, plan_id),
    FOREIGN KEY (tenant_id, plan_id) REFERENCES plans (tenant_id, id)
);

CREATE INDEX plan_tags_of_plan ON plan_tags (tenant_id, plan_id);

-- The head that is locked while a period of the cycle is registered.
CREATE TABLE billing_cycles (
    tenant_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE registered_periods (
    tenant_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    start_date DATE NOT NULL,
    end_date DATE NOT NULL,
    cycle TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, cycle) REFERENCES billing_cycles (tenant_id, id),
    CHECK (start_date < end_date)
);

CREATE INDEX registered_periods_of_cycle ON registered_periods (tenant_id, cycle, start_date);

-- Readings of one channel and UTC month, compressed. A replaced block stays while a comparison used it.
CREATE TABLE usage_blocks (
    tenant_id TEXT COLLATE "C" NOT NULL,
    customer_id TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    month DATE NOT NULL,
    revision BIGINT NOT NULL CHECK (revision >= 1),
    replaced_by BIGINT CHECK (replaced_by > revision),
    n_readings INTEGER NOT NULL CHECK (n_readings >= 1),
    data BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, customer_id, channel, month, revision),
    FOREIGN KEY (tenant_id, customer_id) REFERENCES customers (tenant_id, id)
);

CREATE UNIQUE INDEX usage_blocks_current_key ON usage_blocks (tenant_id, customer_id, month, channel)
    WHERE replaced_by IS NULL;

CREATE TABLE usage_revisions (
    tenant_id TEXT COLLATE "C" NOT NULL,
    customer_id TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL CHECK (revision >= 1),
    created_at BIGINT NOT NULL,
    first_start BIGINT NOT NULL,
    last_end BIGINT NOT NULL,
    added BIGINT NOT NULL CHECK (added >= 0),
    replaced BIGINT NOT NULL CHECK (replaced >= 0),
    file_name TEXT,
    format TEXT NOT NULL,
    sha256 BYTEA NOT NULL CHECK (octet_length(sha256) = 32),
    PRIMARY KEY (tenant_id, customer_id, revision),
    FOREIGN KEY (tenant_id, customer_id) REFERENCES customers (tenant_id, id),
    CHECK (first_start < last_end)
);

CREATE TABLE comparisons (
    tenant_id TEXT COLLATE "C" NOT NULL,
    id BYTEA NOT NULL CHECK (octet_length(id) = 16),
    customer_id TEXT COLLATE "C" NOT NULL,
    period_start DATE NOT NULL,
    period_end DATE NOT NULL,
    plan_references TEXT NOT NULL,
    key_digest BYTEA NOT NULL CHECK (octet_length(key_digest) = 32),
    key_text TEXT NOT NULL,
    inputs TEXT NOT NULL,
    usage_revision BIGINT NOT NULL CHECK (usage_revision >= 0),
    window_start BIGINT NOT NULL,
    window_end BIGINT NOT NULL,
    totals TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    predecessor_id BYTEA,
    superseded_at BIGINT,
    successor_id BYTEA,
    supersede_reason TEXT,
    supersede_note TEXT,
    stale_since BIGINT,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, predecessor_id),
    FOREIGN KEY (tenant_id, customer_id) REFERENCES customers (tenant_id, id),
    FOREIGN KEY (tenant_id, predecessor_id) REFERENCES comparisons (tenant_id, id),
    CHECK (period_start < period_end),
    CHECK (window_start <= window_end),
    CHECK (superseded_at > created_at),
    CHECK ((superseded_at IS NULL) = (successor_id IS NULL)),
    CHECK ((superseded_at IS NULL) = (supersede_reason IS NULL)),
    CHECK (predecessor_id <> id AND successor_id <> id)
);

-- At most one current comparison per natural key.
CREATE UNIQUE INDEX comparisons_current_key ON comparisons (tenant_id, key_digest) WHERE superseded_at IS NULL;
CREATE INDEX comparisons_chain ON comparisons (tenant_id, key_digest, created_at, id);
CREATE INDEX comparisons_newest ON comparisons (tenant_id, created_at, id);
CREATE INDEX comparisons_of_customer ON comparisons (tenant_id, customer_id, created_at, id);
CREATE INDEX comparisons_current_of_customer ON comparisons (tenant_id, customer_id, window_end)
    WHERE superseded_at IS NULL;

-- Written once, never updated.
CREATE TABLE comparison_results (
    tenant_id TEXT COLLATE "C" NOT NULL,
    comparison_id BYTEA NOT NULL,
    result BYTEA NOT NULL,
    summary BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, comparison_id),
    FOREIGN KEY (tenant_id, comparison_id) REFERENCES comparisons (tenant_id, id)
);

-- One row a plan reference: what decides whether a newer plan version makes the comparison stale.
CREATE TABLE comparison_plans (
    tenant_id TEXT COLLATE "C" NOT NULL,
    comparison_id BYTEA NOT NULL,
    reference TEXT COLLATE "C" NOT NULL,
    plan_id TEXT COLLATE "C" NOT NULL,
    newest_version INTEGER NOT NULL CHECK (newest_version >= 0),
    pinned BOOLEAN NOT NULL,
    PRIMARY KEY (tenant_id, comparison_id, reference),
    FOREIGN KEY (tenant_id, comparison_id) REFERENCES comparisons (tenant_id, id)
);

CREATE INDEX comparison_plans_of_plan ON comparison_plans (tenant_id, plan_id, comparison_id);
