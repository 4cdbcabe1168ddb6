// Runs the page's engine without a page: orders come as JSON, answers leave as JSON.
"use strict";

const [, , folder, ordersPath] = process.argv;
const { data, orders } = JSON.parse(require("fs").readFileSync(ordersPath, "utf8"));
globalThis.playgroundData = data;
require(`${folder}/engine.js`);
require(`${folder}/view.js`);
const engine = globalThis.playgroundEngine(data);

const numbers = (list) => Array.from(list);
const DO = {
  numbers: ({ name, count }) => Array.from({ length: count }, engine.stream(name)),
  batches: ({ task, name, batch, length, count }) =>
    Array.from({ length: count }, engine.batches(task, name, batch, length)),
  gradients: ({ setting, batch }) => {
    const model = new engine.Model(setting, batch);
    const found = model.step();
    const kept = model.parameters.map(({ name, gradient }) => [name, numbers(gradient.numbers)]);
    return { ...found, gradients: Object.fromEntries(kept) };
  },
  train: ({ setting, steps }) => {
    const model = new engine.Model(setting);
    return Array.from({ length: steps ?? setting.steps }, () => model.step());
  },
  cell: ({ setting }) => globalThis.playground.cell(setting),
  address: ({ settings, hash }) => {
    const address = hash ?? globalThis.playground.toAddress(settings);
    return [address, globalThis.playground.fromAddress(address)];
  },
  generate: ({ setting, steps, name }) => {
    const model = new engine.Model(setting);
    for (let i = 0; i < steps; i++) model.step();
    return model.generate(32, name);
  },
};
process.stdout.write(JSON.stringify(orders.map((order) => DO[order.do](order))));
