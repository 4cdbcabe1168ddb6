// What several figures compute, and how they write it down.

// Set attributes of an element.
export const put = (element, attributes) => {
  for (const name in attributes) element.setAttribute(name, attributes[name]);
};

export const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

// Softmax over the scores that are open; zeros if none is.
export const softmax = (scores, open) => {
  const raw = scores.map((e, j) => open[j] ? Math.exp(e) : 0);
  const total = sum(raw) || 1;
  return raw.map((r) => r / total);
};

// One; one and two; one, two and three.
export const list = (words) => words.join(", ").replace(/, (?=[^,]*$)/, " and ");
