import { defineConfig } from 'oxlint';
import type { RestrictedSyntax } from './test/tidy/restricted-syntax.ts';

// A later override replaces an earlier one's options for the same rule, so each kind of file gets its whole list at once.
const environment = {
  object: 'process',
  property: 'env',
  message:
    'Settings are read once, in src/platform/config, and passed down: a setting read anywhere else cannot be tested or listed.',
};
const clock = {
  object: 'Date',
  property: 'now',
  message:
    'Time is a parameter here: take `now` as an argument or ask the Clock that was handed in, so that hours of retries run in milliseconds in a test.',
};
const dice = {
  object: 'Math',
  property: 'random',
  message:
    'Randomness is a parameter here: take `random` as an argument (src/platform/world hands out the real one; ids come from src/platform/ids).',
};
const stopwatch = { ...clock, object: 'performance' };

const defaultExport: RestrictedSyntax = {
  selector: 'ExportDefaultDeclaration',
  message: 'Export by name: a default export is called something else in every file that imports it.',
};
const reexportAll: RestrictedSyntax = {
  selector: 'ExportAllDeclaration',
  message: 'List the exports: index.ts is the documentation of what a module promises.',
};
const clockConstructor: RestrictedSyntax = {
  selector: 'NewExpression[callee.name="Date"][arguments.length=0]',
  message:
    'Time is a parameter here: take `now` as an argument or ask the Clock that was handed in; `new Date()` reads the machine’s clock.',
};
const onlyThisTest: RestrictedSyntax = {
  selector: 'MemberExpression[object.name=/^(it|test|describe|suite)$/][property.name="only"]',
  message:
    '.only silences every other test of the file. Remove it; to run one test use `npx vitest run <file> -t <name>`.',
};

/** What is copied into a shell stands in no sentence, where a reader that is no shell would have to find it again. */
const commandInText = ['Literal[value=/\\brasket [a-z]/]', 'TemplateElement[value.raw=/\\brasket (?:[a-z]|$)/]'].map(
  (selector): RestrictedSyntax => ({
    selector,
    message:
      'A command stands in a sentence, where the console says it too and no test finds it misspelt. Make it an Advice (cli/client/advice.ts): words, and the command as data.',
  }),
);

const timers = (message: string) => ['setTimeout', 'setInterval'].map((name) => ({ name, message }));
const timersInRules =
  'Waiting is a parameter here: use the timer of the Clock that was handed in, which a test can advance.';
const timersInTests =
  'A test that sleeps is slow on a fast machine and fails on a slow one. Wait for the event itself, or advance the clock.';
const timerModules = (message: string) =>
  ['timers', 'timers/promises', 'node:timers', 'node:timers/promises'].map((name) => ({ name, message }));
const processModule = {
  name: 'node:process',
  importNames: ['env'],
  message: environment.message,
};
const diceModule = {
  name: 'node:crypto',
  importNames: ['randomBytes', 'randomInt', 'randomUUID', 'randomFill', 'randomFillSync'],
  message: dice.message,
};

const pureImports = [processModule, diceModule, ...timerModules(timersInRules)];
const waysOut = ['fetch', 'WebSocket', 'EventSource'].map((name) => ({
  name,
  message:
    'Other machines are reached through platform/fetch, which looks at their addresses; a resource reaches none.',
}));
const addressKinds = {
  name: 'node:net',
  allowImportNames: ['isIP', 'isIPv4', 'isIPv6'],
  message: 'src/protocol opens no connection: of node:net it takes what tells one kind of address from another.',
};

export default defineConfig({
  plugins: ['typescript'],
  jsPlugins: ['./test/tidy/restricted-syntax.ts'],
  categories: { correctness: 'off' },
  // The compiler's own diagnostics and the rules that ask for types come out of one program of its native successor.
  options: { typeAware: true, typeCheck: true, denyWarnings: true, reportUnusedDisableDirectives: 'error' },
  ignorePatterns: ['node_modules/', 'data/', '.cache/', 'coverage/'],
  rules: {
    eqeqeq: ['error', 'always'],
    'no-debugger': 'error',
    'no-eval': 'error',
    'no-var': 'error',
    'prefer-const': 'error',
    'no-self-compare': 'error',
    'no-unsafe-finally': 'error',
    'no-unsafe-optional-chaining': 'error',
    'no-loss-of-precision': 'error',
    'no-misleading-character-class': 'error',
    'no-dupe-else-if': 'error',
    'no-constant-binary-expression': 'error',
    'no-throw-literal': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/ban-ts-comment': ['error', { 'ts-expect-error': 'allow-with-description' }],
    'shape/restricted': ['error', defaultExport, reexportAll],
  },
  overrides: [
    {
      // These rules ask the type checker: a promise nobody waits for is how an accepted mail is lost without a word.
      files: ['{src,cli,console,bin,migrations,packaging,test}/**/*.{ts,tsx}'],
      rules: {
        'typescript/no-floating-promises': 'error',
        'typescript/no-misused-promises': ['error', { checksVoidReturn: { arguments: false, attributes: false } }],
        'typescript/await-thenable': 'error',
        'typescript/return-await': ['error', 'in-try-catch'],
        'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      },
    },
    {
      files: ['src/**/*.{ts,tsx}'],
      // Where the program's own files are is asked before there are settings.
      excludeFiles: ['src/platform/config/**', 'src/program-files/**'],
      rules: {
        'no-console': 'error',
        'no-restricted-properties': ['error', environment],
        'no-restricted-imports': ['error', { paths: [processModule] }],
      },
    },
    { files: ['src/{platform/config,program-files}/**'], rules: { 'no-console': 'error' } },
    { files: ['console/**', 'migrations/**'], rules: { 'no-restricted-properties': ['error', environment] } },
    {
      files: ['{cli,console}/**/*.{ts,tsx}'],
      rules: { 'shape/restricted': ['error', defaultExport, reexportAll, ...commandInText] },
    },
    {
      // These are whole files for a user, whose commands a test runs.
      files: ['cli/commands/automations/starting-files.ts'],
      rules: { 'shape/restricted': ['error', defaultExport, reexportAll] },
    },
    {
      files: ['src/{contract,protocol,tenancy,mail,features}/**/*.ts'],
      rules: {
        'no-restricted-globals': ['error', ...timers(timersInRules), ...waysOut],
        'no-restricted-properties': ['error', environment, clock, stopwatch, dice],
        'no-restricted-imports': ['error', { paths: pureImports }],
        'shape/restricted': ['error', defaultExport, reexportAll, clockConstructor],
      },
    },
    {
      files: ['src/protocol/**/*.ts'],
      rules: { 'no-restricted-imports': ['error', { paths: [...pureImports, addressKinds] }] },
    },
    {
      // The generator is a command of the workshop: it prints, and it runs on the machine's clock.
      files: ['src/contract/generate.ts'],
      rules: { 'no-console': 'off' },
    },
    {
      files: ['**/*.test.{ts,tsx}'],
      rules: {
        'no-restricted-globals': ['error', ...timers(timersInTests)],
        'no-restricted-properties': 'off',
        'no-restricted-imports': ['error', { paths: timerModules(timersInTests) }],
        'shape/restricted': ['error', defaultExport, reexportAll, onlyThisTest],
      },
    },
    {
      // Tools and knex look for a default export in these.
      files: ['*.config.{js,ts}', 'migrations/*.ts', 'test/tidy/restricted-syntax.ts'],
      rules: { 'shape/restricted': 'off' },
    },
  ],
});
