"""What the reader moves in the page: steppers, a calculator, windows and masks."""
