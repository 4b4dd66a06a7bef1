// What a command has written, as text, and what it has returned.

// Escape sequences of terminals (ECMA-48): CSI, OSC and other strings, and escapes of two characters.
const sequence = /\x1b\[[0-?]*[ -/]*[@-~]|[\x9b][0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]/g;

const longestResult = 1_000_000;

/**
 * The output without the sequences that colour it or move the cursor, and of a line that was written over only what it was last.
 * @param {string} output
 */
export function plain(output) {
  const text = output.replace(sequence, '');
  return text.includes('\r') ? text.split('\n').map(last).join('\n') : text;
}

/** What a line was last. No regular expression: on a long line they take the square of its length. @param {string} line */
function last(line) {
  let end = line.length;
  while (end > 0 && line[end - 1] === '\r') end--;
  return line.slice(line.lastIndexOf('\r', end - 1) + 1, end);
}

/** @typedef {{ stdout?: string, stderr?: string, exit_code: number }} Returned */

/**
 * What a command has returned, as the result of its call says; undefined: it is something else. Of a result whose middle was cut out only the
 * exit code is known.
 * @param {string} result @returns {Returned | undefined}
 */
export function returned(result) {
  if (!/^\{\s*"stdout":/.test(result) || result.length > longestResult) return undefined;
  try {
    const v = JSON.parse(result);
    return typeof v.stdout === 'string' && typeof v.stderr === 'string'
      ? { stdout: plain(v.stdout), stderr: plain(v.stderr), exit_code: Number(v.exit_code) || 0 } : undefined;
  } catch {
    const code = /,"exit_code":(-?\d+)[,}]/.exec(result)?.[1];
    return code === undefined ? undefined : { exit_code: Number(code) };
  }
}
