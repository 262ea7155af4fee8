/** A line to whoever runs the command, on stderr: stdout belongs to what the command prints. */
export function say(line) {
  process.stderr.write(`${line}\n`);
}
