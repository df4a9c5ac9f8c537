-- Instants are microseconds since the epoch, UTC; window bounds are seconds; dates are local dates, YYYY-MM-DD.
-- tenant_id stands first in every key.

CREATE TABLE customers (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    usage_revision INTEGER NOT NULL CHECK (usage_revision >= 0),
    document TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT;

CREATE TABLE customer_versions (
    tenant_id TEXT NOT NULL,
    customer_id TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    document TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, customer_id, version),
    FOREIGN KEY (tenant_id, customer_id) REFERENCES customers (tenant_id, id)
) STRICT;

CREATE TABLE plans (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    newest_version INTEGER NOT NULL CHECK (newest_version >= 0),
    search_text TEXT NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT;

CREATE TABLE plan_versions (
    tenant_id TEXT NOT NULL,
    plan_id TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    document TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    source TEXT,
    media_type TEXT NOT NULL,
    in_force_from TEXT,
    in_force_to TEXT,
    name TEXT NOT NULL,
    currency TEXT NOT NULL,
    provider TEXT,
    territory TEXT,
    tags TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, plan_id, version),
    FOREIGN KEY (tenant_id, plan_id) REFERENCES plans (tenant_id, id),
    CHECK (in_force_from IS NULL OR in_force_to IS NULL OR in_force_from < in_force_to)
) STRICT;

-- Tags of the newest version, for lists.
CREATE TABLE plan_tags (
    tenant_id TEXT NOT NULL,
    tag TEXT NOT NULL,
    plan_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, tag, plan_id),
    FOREIGN KEY (tenant_id, plan_id) REFERENCES plans (tenant_id, id)
) STRICT;

CREATE INDEX plan_tags_of_plan ON plan_tags (tenant_id, plan_id);

-- The head that is locked while a period of the cycle is registered.
CREATE TABLE billing_cycles (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT;

CREATE TABLE registered_periods (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    start_date TEXT NOT NULL,
    end_date TEXT NOT NULL,
    cycle TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, cycle) REFERENCES billing_cycles (tenant_id, id),
    CHECK (start_date < end_date)
) STRICT;

CREATE INDEX registered_periods_of_cycle ON registered_periods (tenant_id, cycle, start_date);

-- Readings of one channel and UTC month, compressed. A replaced block stays while a comparison used it.
CREATE TABLE usage_blocks (
    tenant_id TEXT NOT NULL,
    customer_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    month TEXT NOT NULL,
    revision INTEGER NOT NULL CHECK (revision >= 1),
    replaced_by INTEGER CHECK (replaced_by > revision),
    n_readings INTEGER NOT NULL CHECK (n_readings >= 1),
    data BLOB NOT NULL,
    PRIMARY KEY (tenant_id, customer_id, channel, month, revision),
    FOREIGN KEY (tenant_id, customer_id) REFERENCES customers (tenant_id, id)
) STRICT;

CREATE UNIQUE INDEX usage_blocks_current_key ON usage_blocks (tenant_id, customer_id, month, channel)
    WHERE replaced_by IS NULL;

CREATE TABLE usage_revisions (
    tenant_id TEXT NOT NULL,
    customer_id TEXT NOT NULL,
    revision INTEGER NOT NULL CHECK (revision >= 1),
    created_at INTEGER NOT NULL,
    first_start INTEGER NOT NULL,
    last_end INTEGER NOT NULL,
    added INTEGER NOT NULL CHECK (added >= 0),
    replaced INTEGER NOT NULL CHECK (replaced >= 0),
    file_name TEXT,
    format TEXT NOT NULL,
    sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
    PRIMARY KEY (tenant_id, customer_id, revision),
    FOREIGN KEY (tenant_id, customer_id) REFERENCES customers (tenant_id, id),
    CHECK (first_start < last_end)
) STRICT;

CREATE TABLE comparisons (
    tenant_id TEXT NOT NULL,
    id BLOB NOT NULL CHECK (length(id) = 16),
    customer_id TEXT NOT NULL,
    period_start TEXT NOT NULL,
    period_end TEXT NOT NULL,
    plan_references TEXT NOT NULL,
    key_digest BLOB NOT NULL CHECK (length(key_digest) = 32),
    key_text TEXT NOT NULL,
    inputs TEXT NOT NULL,
    usage_revision INTEGER NOT NULL CHECK (usage_revision >= 0),
    window_start INTEGER NOT NULL,
    window_end INTEGER NOT NULL,
    totals TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    predecessor_id BLOB,
    superseded_at INTEGER,
    successor_id BLOB,
    supersede_reason TEXT,
    supersede_note TEXT,
    stale_since INTEGER,
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
) STRICT;

-- At most one current comparison per natural key.
CREATE UNIQUE INDEX comparisons_current_key ON comparisons (tenant_id, key_digest) WHERE superseded_at IS NULL;
CREATE INDEX comparisons_chain ON comparisons (tenant_id, key_digest, created_at, id);
CREATE INDEX comparisons_newest ON comparisons (tenant_id, created_at, id);
CREATE INDEX comparisons_of_customer ON comparisons (tenant_id, customer_id, created_at, id);
CREATE INDEX comparisons_current_of_customer ON comparisons (tenant_id, customer_id, window_end)
    WHERE superseded_at IS NULL;

-- Written once, never updated.
CREATE TABLE comparison_results (
    tenant_id TEXT NOT NULL,
    comparison_id BLOB NOT NULL,
    result BLOB NOT NULL,
    summary BLOB NOT NULL,
    PRIMARY KEY (tenant_id, comparison_id),
    FOREIGN KEY (tenant_id, comparison_id) REFERENCES comparisons (tenant_id, id)
) STRICT;

-- One row a plan reference: what decides whether a newer plan version makes the comparison stale.
CREATE TABLE comparison_plans (
    tenant_id TEXT NOT NULL,
    comparison_id BLOB NOT NULL,
    reference TEXT NOT NULL,
    plan_id TEXT NOT NULL,
    newest_version INTEGER NOT NULL CHECK (newest_version >= 0),
    pinned INTEGER NOT NULL CHECK (pinned IN (0, 1)),
    PRIMARY KEY (tenant_id, comparison_id, reference),
    FOREIGN KEY (tenant_id, comparison_id) REFERENCES comparisons (tenant_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX comparison_plans_of_plan ON comparison_plans (tenant_id, plan_id, comparison_id);
