DROP TABLE comparison_shared_inputs;
DROP TABLE shared_inputs;
