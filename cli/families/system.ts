import { detailOf, reportOf, type Family } from './family.ts';

/** About the server itself; neither question needs a key. */
export const health = {
  command: 'health',
  summary: 'ask whether the server lives',
  noun: 'a server',
  get: detailOf('getHealth', {
    verb: 'health',
    summary: 'ask whether the server lives',
    example: 'health',
    fields: [
      { name: 'status', label: 'Status', kind: 'state' },
      { name: 'version', label: 'Version' },
      { name: 'env', label: 'Environment' },
    ],
    needsNoKey: true,
  }),
} satisfies Family;

export const readiness = reportOf('getReady', {
  summary: 'ask whether the server can serve requests',
  description:
    'Shows every check of the server, and what is wrong with it beside that. It ends with 70 while a check fails: the server cannot serve then. Findings alone end it with 0; `doctor` does otherwise.',
  example: 'ready',
  rows: (ready) => ready.checks,
  columns: [
    { name: 'name', label: 'Check', kind: 'whole' },
    {
      name: 'ok',
      label: 'Result',
      kind: 'state',
      value: (check) => (check.ok ? 'ok' : 'failed'),
      tone: (check) => (check.ok ? 'good' : 'bad'),
    },
    { name: 'durationMs', label: 'Ms', kind: 'number' },
    { name: 'error', label: 'Why', kind: 'long' },
  ],
});
