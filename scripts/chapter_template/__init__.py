"""The page of chapter @N@, and its laboratory."""
