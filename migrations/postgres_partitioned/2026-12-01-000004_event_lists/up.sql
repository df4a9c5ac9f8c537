-- Event lists: a third kind of shared input. The bounds of what differs and the range that a comparison used are instants
-- (seconds), as those of a price series.
ALTER TABLE shared_inputs
    DROP CONSTRAINT shared_inputs_kind_check,
    ADD CONSTRAINT shared_inputs_kind_check CHECK (kind IN ('calendar', 'price_series', 'event_list'));
