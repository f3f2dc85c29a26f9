let isServing = false;

/**
 * A reader that has seen enough (`| head`) ends a command quietly; anything else that keeps an answer from being
 * written is a failure, because an API key printed into a full disk is lost. Log lines that nobody can read are dropped.
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

/** From now on the process has callers, who matter more than whoever reads its output. */
export function outliveReaders(): void {
  isServing = true;
}
