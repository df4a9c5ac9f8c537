-- Refused while there are event lists: answers were made from them.
ALTER TABLE shared_inputs
    DROP CONSTRAINT shared_inputs_kind_check,
    ADD CONSTRAINT shared_inputs_kind_check CHECK (kind IN ('calendar', 'price_series'));
