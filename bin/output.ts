let isServing = false;

/**
 * Handles errors of the output. A reader that has seen enough (`| head`) ends a command quietly; any other error that
 * prevents the output from being written is a failure, because an API key printed to a full disk is lost. Log lines
 * that nobody can read are dropped.
 */
export function guardOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isServing) return;
    if (error.code === 'EPIPE') process.exit(process.exitCode ?? 0);
    process.stderr.write(`rasket: standard output cannot be written (${error.code ?? error.message})\n`);
    process.exit(1);
  });
  process.stderr.on('error', () => undefined);
}

/**
 * Keeps the process running from now on when its output breaks: its callers matter more than the reader of its output.
 */
export function outliveReaders(): void {
  isServing = true;
}
