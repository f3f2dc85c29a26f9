/** The entry point of the single file, as CommonJS, which is what Node 24 starts in an executable. */

declare const VERSION: string;

const [, , first = '', ...rest] = process.argv;
if (rest.length === 0 && ['--version', '-V', '-v', 'version'].includes(first)) {
  process.stdout.write(`${VERSION}\n`);
} else {
  // Everything that printing the version does not need is evaluated only here.
  void import('./start.ts').then(({ start }) => start(first));
}
