//! The tables as diesel sees them on both engines; `migrations/` is what a database is made from.

diesel::table! {
    customers (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        version -> BigInt,
        usage_revision -> BigInt,
        document -> Text,
        created_at -> BigInt,
        updated_at -> BigInt,
    }
}

diesel::table! {
    customer_versions (tenant_id, customer_id, version) {
        tenant_id -> Text,
        customer_id -> Text,
        version -> BigInt,
        document -> Text,
        created_at -> BigInt,
    }
}

diesel::table! {
    plans (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        newest_version -> Integer,
        search_text -> Text,
    }
}

diesel::table! {
    plan_versions (tenant_id, plan_id, version) {
        tenant_id -> Text,
        plan_id -> Text,
        version -> Integer,
        document -> Text,
        digest -> Binary,
        source -> Nullable<Text>,
        media_type -> Text,
        in_force_from -> Nullable<Date>,
        in_force_to -> Nullable<Date>,
        name -> Text,
        currency -> Text,
        provider -> Nullable<Text>,
        territory -> Nullable<Text>,
        tags -> Text,
        created_at -> BigInt,
    }
}

diesel::table! {
    plan_tags (tenant_id, tag, plan_id) {
        tenant_id -> Text,
        tag -> Text,
        plan_id -> Text,
    }
}

diesel::table! {
    billing_cycles (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
    }
}

diesel::table! {
    registered_periods (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        start_date -> Date,
        end_date -> Date,
        cycle -> Nullable<Text>,
        created_at -> BigInt,
    }
}

diesel::table! {
    usage_blocks (tenant_id, customer_id, channel, month, revision) {
        tenant_id -> Text,
        customer_id -> Text,
        channel -> Text,
        month -> Date,
        revision -> BigInt,
        replaced_by -> Nullable<BigInt>,
        n_readings -> Integer,
        data -> Binary,
    }
}

diesel::table! {
    usage_revisions (tenant_id, customer_id, revision) {
        tenant_id -> Text,
        customer_id -> Text,
        revision -> BigInt,
        created_at -> BigInt,
        first_start -> BigInt,
        last_end -> BigInt,
        added -> BigInt,
        replaced -> BigInt,
        file_name -> Nullable<Text>,
        format -> Text,
        sha256 -> Binary,
        import_id -> Nullable<Binary>,
        removed -> BigInt,
        channels -> Nullable<Text>,
    }
}

diesel::table! {
    imports (tenant_id, id) {
        tenant_id -> Text,
        id -> Binary,
        kind -> Text,
        state -> Text,
        customer_id -> Nullable<Text>,
        part_of -> Nullable<Binary>,
        reverts -> Nullable<Binary>,
        reverted_by -> Nullable<Binary>,
        same_file_as -> Nullable<Binary>,
        file_name -> Nullable<Text>,
        sha256 -> Binary,
        format -> Text,
        n_bytes -> BigInt,
        on_conflict -> Nullable<Text>,
        counts -> Text,
        choices -> Text,
        warnings -> Text,
        resume_key -> Nullable<Binary>,
        revision_before -> Nullable<BigInt>,
        revision_after -> Nullable<BigInt>,
        created_at -> BigInt,
    }
}

diesel::table! {
    import_meter_points (tenant_id, import_id, place) {
        tenant_id -> Text,
        import_id -> Binary,
        place -> Integer,
        meter_point_id -> Nullable<Text>,
        n_readings -> BigInt,
        state -> Text,
        customer_id -> Nullable<Text>,
        part_id -> Nullable<Binary>,
        code -> Nullable<Text>,
        detail -> Nullable<Text>,
    }
}

diesel::table! {
    customer_meter_points (tenant_id, meter_point_id, customer_id, channel) {
        tenant_id -> Text,
        meter_point_id -> Text,
        customer_id -> Text,
        channel -> Text,
    }
}

diesel::table! {
    comparisons (tenant_id, id) {
        tenant_id -> Text,
        id -> Binary,
        customer_id -> Text,
        period_start -> Date,
        period_end -> Date,
        plan_references -> Text,
        key_digest -> Binary,
        key_text -> Text,
        inputs -> Text,
        usage_revision -> BigInt,
        window_start -> BigInt,
        window_end -> BigInt,
        totals -> Text,
        created_at -> BigInt,
        predecessor_id -> Nullable<Binary>,
        superseded_at -> Nullable<BigInt>,
        successor_id -> Nullable<Binary>,
        supersede_reason -> Nullable<Text>,
        supersede_note -> Nullable<Text>,
        stale_since -> Nullable<BigInt>,
    }
}

diesel::table! {
    comparison_results (tenant_id, comparison_id) {
        tenant_id -> Text,
        comparison_id -> Binary,
        result -> Binary,
        summary -> Binary,
    }
}

diesel::table! {
    comparison_plans (tenant_id, comparison_id, reference) {
        tenant_id -> Text,
        comparison_id -> Binary,
        reference -> Text,
        plan_id -> Text,
        newest_version -> Integer,
        pinned -> Bool,
    }
}

diesel::table! {
    shared_inputs (tenant_id, kind, id, version) {
        tenant_id -> Text,
        kind -> Text,
        id -> Text,
        version -> Integer,
        content -> Binary,
        summary -> Text,
        changed_start -> Nullable<BigInt>,
        changed_end -> Nullable<BigInt>,
        created_at -> BigInt,
    }
}

diesel::table! {
    comparison_shared_inputs (tenant_id, comparison_id, kind, input_id) {
        tenant_id -> Text,
        comparison_id -> Binary,
        kind -> Text,
        input_id -> Text,
        version -> Integer,
        used_start -> BigInt,
        used_end -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(
    comparisons,
    comparison_results,
    comparison_plans,
    plan_versions,
    comparison_shared_inputs,
    shared_inputs,
);
diesel::allow_tables_to_appear_in_same_query!(plans, plan_versions, plan_tags);
