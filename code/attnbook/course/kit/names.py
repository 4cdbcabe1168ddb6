"""Names of models and stored results, as tables and figures give them to a reader."""

NAMES = {
    "untrained": "untrained",
    "initial_state": "initial state only",
    "initial_state_faster": "initial state only, 2 × learning rate",
    "initial_state_longer": "initial state only, 2,100 steps",
    "initial_state_thirty_times": "initial state only, 21,000 steps",
    "initial_state_faster_longer": "initial state only, 2,100 steps, 2 × learning rate",
    "initial_state_wider": "initial state only, width 192",
    "initial_state_wider_longer": (
        "initial state only, width 192, 2,800 steps, ½ × learning rate"
    ),
    "static_narrow": "static context, last, width 64",
    "static_mean": "static context, mean",
    "static_last": "static context, last",
    "static_last_faster": "static context, last, 2 × learning rate",
    "static_last_longer": "static context, last, 2,100 steps",
    "static_last_ten_times": "static context, last, 7,000 steps",
    "static_last_thirty_times": "static context, last, 21,000 steps",
    "static_last_faster_longer": "static context, last, 2,100 steps, 2 × learning rate",
    "static_last_wider": "static context, last, width 192",
    "static_last_wider_slower": "static context, last, width 192, ½ × learning rate",
    "one_way": "unidirectional encoder",
    "one_way_reversed": "unidirectional encoder, reversed source",
    "bahdanau": "Bahdanau attention",
    "luong_dot": "Luong attention, dot",
    "luong_general": "Luong attention, general",
    "luong_concat": "Luong attention, concat",
    "luong_location": "Luong attention, location",
    "transformer": "Transformer",
    "transformer_rotary": "Transformer, rotary encodings",
}
