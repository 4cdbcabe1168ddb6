"""What only the pages need: figures, steppers, exercises. No idea imports it."""
