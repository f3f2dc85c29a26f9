import type { AnswerOf } from '../client/index.ts';
import { drawGraph, runsInWords, runStepsInWords } from './automation-words.ts';
import {
  actionOf,
  currentIn,
  detailOf,
  listOf,
  nameIn,
  type Family,
  type Field,
  type Flag,
  type ItemOf,
  type Key,
  type Tone,
} from './family.ts';
import { idEnd } from './flag.ts';

const AUTOMATION: Key = { word: 'automation', says: 'the id of the automation' };
const RUN: Key = { word: 'run', says: 'the id of the run' };
const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e61';

type Automation = ItemOf<'listAutomations'> | AnswerOf<'getAutomation'>;
type Run = ItemOf<'listAutomationRuns'> | AnswerOf<'getAutomationRun'>;

const columns: Field<Automation>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'name', label: 'Name', kind: 'name' },
  {
    name: 'status',
    label: 'Status',
    kind: 'state',
    tone: ({ status }) => (status === 'enabled' ? 'good' : 'plain'),
  },
  { name: 'reentry', label: 'Re-entry', shown: 'wide' },
  { name: 'created_at', label: 'Created', kind: 'time' },
  { name: 'updated_at', label: 'Updated', kind: 'time' },
];

const reentry: Flag = {
  value: '<rule>',
  says: 'whether a contact begins again: always, when_ended or never',
  choices: ['always', 'when_ended', 'never'],
};
const status: Flag = { value: '<status>', says: 'enabled or disabled', choices: ['enabled', 'disabled'] };
const steps: Flag = { value: '<json>', says: 'a list of {key, type, config}', fromFile: 'steps', isJson: true };
const connections: Flag = {
  value: '<json>',
  says: 'a list of {from, to, type}',
  fromFile: 'connections',
  isJson: true,
};

export const automations = {
  command: 'automations',
  summary: 'steps that contacts are taken through once an event has happened to them',
  noun: 'an automation',
  list: listOf('listAutomations', {
    summary: 'list automations, newest first',
    example: 'automations list --status enabled',
    filters: {
      search: { value: '<text>', says: 'only those whose name contains this' },
      status: { ...status, says: 'only those in this status' },
    },
    columns,
    empty: 'There are no automations yet.',
  }),
  get: detailOf('getAutomation', {
    summary: 'show an automation, its graph and how many runs stand at each step',
    example: `automations get ${ID}`,
    path: { automation_id: AUTOMATION },
    fields: [
      ...columns,
      { name: 'connections', label: 'Connections', shown: 'asked' },
      { name: 'runs', label: 'Runs', value: runsInWords },
      { name: 'steps', label: 'Steps', kind: 'body', value: drawGraph },
    ],
  }),
  actions: [
    actionOf('createAutomation', {
      verb: 'create',
      key: 'c',
      summary: 'create an automation',
      description:
        'Creates an automation, disabled unless --status says otherwise. Steps and connections are JSON; the API reference lists the types of steps and what each config holds.',
      example: 'automations create Welcome --steps-file steps.json --connections-file connections.json',
      flags: {
        name: { value: '<name>', says: 'what you call it', isWord: true, isRequired: true },
        steps: { ...steps, isRequired: true },
        connections: { ...connections, isRequired: true },
        status,
        reentry,
      },
      done: 'Created',
      warn: ({ warnings = [] }) => warnings.map((words) => ({ words })),
    }),
    actionOf('updateAutomation', {
      verb: 'update',
      key: 'u',
      summary: 'change an automation',
      description:
        'Changes what is named and leaves the rest as it is. Steps and connections go together and are the next version; runs that have begun keep theirs.',
      example: `automations update ${ID} --status enabled`,
      path: { automation_id: AUTOMATION },
      flags: { name: { value: '<name>', says: 'its new name' }, status, reentry, steps, connections },
      current: currentIn('getAutomation'),
      done: 'Changed',
      warn: ({ warnings = [] }) => warnings.map((words) => ({ words })),
    }),
    actionOf('stopAutomation', {
      verb: 'stop',
      key: 's',
      summary: 'disable an automation and cancel its runs',
      example: `automations stop ${ID}`,
      path: { automation_id: AUTOMATION },
      done: 'Stopped',
      destroys: {
        says: 'disable the automation and cancel all its runs',
        name: nameIn('getAutomation', (automation) => automation.name),
      },
    }),
    actionOf('duplicateAutomation', {
      verb: 'duplicate',
      key: 'd',
      summary: 'copy an automation; the copy is disabled',
      example: `automations duplicate ${ID}`,
      path: { automation_id: AUTOMATION },
      done: 'Copied',
    }),
    actionOf('deleteAutomation', {
      verb: 'delete',
      key: 'e',
      summary: 'delete an automation and cancel its runs',
      example: `automations delete ${ID}`,
      path: { automation_id: AUTOMATION },
      done: 'Deleted',
      destroys: {
        says: 'delete the automation and cancel all its runs',
        name: nameIn('getAutomation', (automation) => automation.name),
      },
    }),
  ],
} satisfies Family;

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
  summary: 'which contacts are on their way',
  noun: 'a run',
  list: listOf('listAutomationRuns', {
    verb: 'runs',
    summary: 'list the runs of an automation, newest first',
    example: `automations runs ${ID} --status running,failed`,
    path: { automation_id: AUTOMATION },
    filters: {
      status: {
        value: '<statuses>',
        says: 'only those that are running, completed, failed or cancelled; several with commas',
        choices: Object.keys(TONES),
      },
      id_end: idEnd,
    },
    columns: runColumns,
    empty: 'There are no runs yet.',
  }),
  get: detailOf('getAutomationRun', {
    verb: 'run',
    summary: 'show a run and its steps',
    example: `automations run ${ID} 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e62`,
    path: { automation_id: AUTOMATION, run_id: RUN },
    fields: [...runColumns, { name: 'steps', label: 'Steps', kind: 'body', value: runStepsInWords }],
  }),
} satisfies Family;
