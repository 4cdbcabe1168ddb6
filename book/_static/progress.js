// What the reader has answered and ticked: kept in this browser only, sent nowhere.
//
// Answers of predict boxes are numbers, counted from 0; exercises and pages are true; of
// places there is the last, {page, title, section, id}.  A browser may keep nothing, for a
// page opened from a file or by the reader's choice: then all is forgotten when the page is
// left, and `progress.lasting` is false.
"use strict";

const progress = {};

{
  const KEY = "attention-step-by-step"; // other books may share the address
  const state = { answers: {}, exercises: {}, pages: {}, places: {} };
  const listeners = [];
  progress.lasting = true;

  function load() {
    try {
      const stored = JSON.parse(localStorage.getItem(KEY));
      for (const kind of Object.keys(state)) state[kind] = { ...stored?.[kind] };
    } catch (problem) {
      // What is no JSON is not ours; anything else is a browser that keeps nothing.
      progress.lasting = problem instanceof SyntaxError;
    }
  }

  function save() {
    try {
      if (progress.isEmpty()) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, JSON.stringify(state));
    } catch {
      progress.lasting = false;
    }
  }

  progress.get = (kind, name) => state[kind][name];

  progress.isEmpty = () => Object.values(state).every((kept) => !Object.keys(kept).length);

  // Without a value the name is forgotten.
  progress.set = (kind, name, value) => {
    if (progress.lasting) load(); // another window may have written
    if (value === undefined) delete state[kind][name];
    else state[kind][name] = value;
    save();
    listeners.forEach((listener) => listener());
  };

  progress.clear = () => {
    for (const kind of Object.keys(state)) state[kind] = {};
    save();
    listeners.forEach((listener) => listener());
  };

  // The listener is called now and after each change, in other windows too.
  progress.follow = (listener) => {
    listeners.push(listener);
    listener();
  };

  function reload() {
    load();
    listeners.forEach((listener) => listener());
  }

  load();
  window.addEventListener("storage", reload);
  // A page that the browser shows again as it was left may be out of date.
  window.addEventListener("pageshow", ({ persisted }) => persisted && reload());
}
