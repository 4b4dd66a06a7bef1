// What a command has written, as text.

// Escape sequences of terminals (ECMA-48): CSI, OSC and other strings, and escapes of two characters.
const sequence = /\x1b\[[0-?]*[ -/]*[@-~]|[\x9b][0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]/g;

/**
 * The output without the sequences that colour it or move the cursor, and of a line that was written over only what it was last.
 * @param {string} output
 */
export function plain(output) {
  const text = output.replace(sequence, '').replace(/\r+\n/g, '\n');
  return text.includes('\r') ? text.replace(/[^\n]*\r(?=[^\n])/g, '').replace(/\r/g, '') : text;
}
