/**
 * The launcher starts this. The version is printed before anything is loaded; every command's code is loaded only when
 * it is needed, so that `rasket send` does not pay for the server.
 */
import { isSingleFile, readProgramText, readVersion } from '../src/program-files/index.ts';

// Files that it writes, such as a database full of mail, are for its own user alone.
process.umask(0o077);

const version = readVersion();

const [first = '', ...rest] = process.argv.slice(2);
if (rest.length === 0 && ['--version', '-V', '-v', 'version'].includes(first)) {
  console.log(version);
} else if (rest.length === 0 && first === '--licenses') {
  // In a checkout, the licenses of packages are in the folders of the packages.
  process.stdout.write(readProgramText(isSingleFile ? 'LICENSES.txt' : 'LICENSE'));
} else if (rest.length <= 1 && first === '--unpack') {
  const { unpack } = await import('./unpack.ts');
  process.exitCode = unpack(rest[0]);
} else {
  const { guardOutput } = await import('./output.ts');
  guardOutput();
  const { runProgram } = await import('./program.ts');
  process.exitCode = await runProgram(process.argv, version, process);
}
