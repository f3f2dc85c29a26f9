// Types and lint over one program: the rules that ask the type checker would build the same one a second time.
import { ESLint } from 'eslint';
import path from 'node:path';
import ts from 'typescript';

const root = process.cwd();
const formatHost: ts.FormatDiagnosticsHost = {
  getCurrentDirectory: () => root,
  getCanonicalFileName: (name) => name,
  getNewLine: () => '\n',
};

const program = createProgram();
const faults = ts.getPreEmitDiagnostics(program);
if (faults.length > 0) console.log(ts.formatDiagnostics(faults, formatHost));
const lint = await lintWith(program);
if (lint !== '') console.log(lint);
process.exitCode = faults.length > 0 || lint !== '' ? 1 : 0;

function createProgram(): ts.Program {
  const file = path.join(root, 'tsconfig.json');
  const host: ts.ParseConfigFileHost = {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic(fault) {
      throw new Error(ts.formatDiagnostic(fault, formatHost));
    },
  };
  const config = ts.getParsedCommandLineOfConfigFile(file, {}, host);
  if (!config) throw new Error(`${file} cannot be read`);
  return ts.createProgram(config.fileNames, config.options);
}

/** What eslint has to say; empty when it has nothing. A warning counts as a fault. */
async function lintWith(shared: ts.Program): Promise<string> {
  const eslint = new ESLint({
    cwd: root,
    overrideConfig: [
      {
        files: ['{src,cli,console,bin,migrations,test}/**/*.{ts,tsx}'],
        languageOptions: { parserOptions: { projectService: false, programs: [shared] } },
      },
    ],
  });
  const results = await eslint.lintFiles(['.']);
  if (results.every(({ errorCount, warningCount }) => errorCount + warningCount === 0)) return '';
  return (await eslint.loadFormatter('stylish')).format(results);
}
