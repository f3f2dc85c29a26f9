import type { AnswerOf } from '../client/index.ts';
import { drawGraph, runsInWords, runStepsInWords } from './automation-words.ts';
import {
  declareAction,
  declareDetail,
  declareList,
  withRemaining,
  type Family,
  type Field,
  type ItemOf,
  type Tone,
} from './family.ts';

type Automation = ItemOf<'listAutomations'> | AnswerOf<'getAutomation'>;
type Run = ItemOf<'listAutomationRuns'> | AnswerOf<'getAutomationRun'>;

const columns: Field<Automation>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'name', label: 'Name', kind: 'name' },
  { name: 'status', label: 'Status', kind: 'state', tone: ({ status }) => (status === 'enabled' ? 'good' : 'plain') },
  { name: 'reentry', label: 'Re-entry', shown: 'wide' },
  { name: 'created_at', label: 'Created', kind: 'time' },
  { name: 'updated_at', label: 'Updated', kind: 'time' },
];

export const automations = withRemaining({
  command: 'automations',
  summary: 'manage automations, which take contacts through steps after an event',
  noun: 'an automation',
  list: declareList('listAutomations', { columns, empty: 'There are no automations yet.' }),
  get: declareDetail('getAutomation', {
    fields: [
      ...columns,
      { name: 'connections', label: 'Connections', shown: 'asked' },
      { name: 'runs', label: 'Runs', value: runsInWords },
      { name: 'steps', label: 'Steps', kind: 'body', value: drawGraph },
    ],
  }),
  actions: [
    declareAction('createAutomation', { warn: ({ warnings = [] }) => warnings.map((words) => ({ words })) }),
    declareAction('updateAutomation', { warn: ({ warnings = [] }) => warnings.map((words) => ({ words })) }),
    declareAction('stopAutomation', { done: 'Stopped' }),
    declareAction('duplicateAutomation', { done: 'Copied' }),
    declareAction('deleteAutomation'),
  ],
  elsewhere: { listAutomationRuns: true, getAutomationRun: true },
});

const TONES: Record<Run['status'], Tone> = {
  running: 'attention',
  completed: 'good',
  failed: 'bad',
  cancelled: 'plain',
};

const runColumns: Field<Run>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'status', label: 'Status', kind: 'state', tone: ({ status: said }) => TONES[said] },
  { name: 'created_at', label: 'Created', kind: 'time' },
  { name: 'started_at', label: 'Started', kind: 'time' },
  { name: 'completed_at', label: 'Ended', kind: 'time' },
  { name: 'contact_id', label: 'Contact', kind: 'id' },
  { name: 'error', label: 'Why', kind: 'long' },
];

export const automationRuns = {
  command: 'automations',
  summary: 'list the runs of an automation',
  noun: 'a run',
  list: declareList('listAutomationRuns', { columns: runColumns, empty: 'There are no runs yet.' }),
  get: declareDetail('getAutomationRun', {
    fields: [...runColumns, { name: 'steps', label: 'Steps', kind: 'body', value: runStepsInWords }],
  }),
} satisfies Family;
