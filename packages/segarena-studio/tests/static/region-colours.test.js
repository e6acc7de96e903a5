import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { colourOf, contrast } from "../../src/segarena_studio/static/editor/region-colours.js";

const rgb = (css) => css.match(/\d+/g).map(Number);
// What people without one kind of cone see, for linear light (Machado, Oliveira and Fernandes, 2009, severity 1).
const SIGHTS = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

const linear = (value) => (value <= 10.31475 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4);

/** In CIELAB, where equal distances look about equally different. */
function lab(colour, sight) {
  const light = colour.map(linear);
  const [red, green, blue] = sight.map((row) => Math.max(0, row[0] * light[0] + row[1] * light[1] + row[2] * light[2]));
  const [x, y, z] = [
    (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505,
    0.2126 * red + 0.7152 * green + 0.0722 * blue,
    (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089,
  ].map((share) => (share > 0.008856 ? Math.cbrt(share) : 7.787 * share + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test("the first eight regions can be told apart with any kind of colour blindness", () => {
  const colours = [...Array(8).keys()].map((index) => rgb(colourOf(`r${index + 1}`, false).fill));
  for (const [name, sight] of Object.entries(SIGHTS)) {
    colours.forEach((one, index) => colours.slice(index + 1).forEach((other) => {
      const [a, b] = [lab(one, sight), lab(other, sight)];
      assert.ok(Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) > 15, `${name}: ${one} and ${other}`);
    }));
  }
});

test("twenty-four regions have as many colours, and a region keeps its own", () => {
  const fills = [...Array(24).keys()].map((index) => colourOf(`r${index + 1}`, false).fill);
  assert.equal(new Set(fills).size, 24);
  assert.equal(colourOf("r25", true).fill, fills[0]);
  assert.equal(colourOf("cat", true).fill, colourOf("cat", false).fill);
});

test("outlines stand out from the page, light and dark, and text from the fill", () => {
  for (let index = 1; index <= 24; index++) {
    for (const [isDark, page] of [[false, [255, 255, 255]], [true, [20, 20, 24]]]) {
      const { fill, stroke, text } = colourOf(`r${index}`, isDark);
      assert.ok(contrast(rgb(stroke), page) >= 3);
      assert.ok(contrast(rgb(text), rgb(fill)) >= 4.5);
    }
  }
  assert.equal(contrast([0, 0, 0], [255, 255, 255]), 21);
});

test("the viewer and the review page have the same colours in their style sheet", () => {
  const sheet = readFileSync(new URL("../../../segarena/src/segarena/reports/page.css", import.meta.url), "utf8");
  // test_review.py has the same table for the class that the server gives to a region.
  for (const [id, number] of Object.entries({ r1: 0, r2: 1, r24: 23, r25: 0, sky: 18 })) {
    const hex = new RegExp(`--o${number}: #(..)(..)(..);`).exec(sheet) ?? [];
    const written = hex.slice(1).map((digits) => parseInt(digits, 16));
    assert.deepEqual(rgb(colourOf(id, false).fill), written, id);
  }
});
