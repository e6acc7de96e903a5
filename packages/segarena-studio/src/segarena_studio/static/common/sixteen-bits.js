// 16-bit pixels, as the server sends them.

/**
 * Read little-endian 16-bit numbers on machines of either byte order.
 * @param {ArrayBuffer} buffer
 */
export function sixteenBits(buffer) {
  const isLowFirst = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
  if (isLowFirst) return new Uint16Array(buffer);
  const view = new DataView(buffer);
  return Uint16Array.from({ length: buffer.byteLength / 2 }, (_, place) => view.getUint16(2 * place, true));
}
