/** Where the single file begins, as CommonJS, which is what Node 24 starts in an executable. */

declare const VERSION: string;

const [, , first = '', ...rest] = process.argv;
if (rest.length === 0 && ['--version', '-V', '-v', 'version'].includes(first)) {
  process.stdout.write(`${VERSION}\n`);
} else {
  // What an answer of the version does not need is evaluated here alone.
  void import('./start.ts').then(({ start }) => start(first));
}
