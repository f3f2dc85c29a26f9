import type { TeamObject } from '../../src/contract/index.ts';
import { grouped } from './field-value.ts';
import { declareAction, asked, currentIn, declareDetail, declareList, withRemaining, type Family } from './family.ts';

type Address = NonNullable<TeamObject['sender_identity']['postal_address']>;

const postalLine = ({ line1, line2, city, state, postal_code: code, country }: Address): string =>
  [line1, line2, city, state, code, country].filter((part) => part !== null).join(', ');

function allowance({ plan: { limits } }: TeamObject, said: (count: number) => string = String): string {
  const daily = limits.daily_cap === null ? '' : `, ${said(limits.daily_cap)} a day`;
  return `${said(limits.included_emails)} a month${daily}`;
}

export const teams = withRemaining({
  command: 'team',
  summary: 'show and change your team, its plan and its sender identity',
  noun: 'a team',
  get: declareDetail('getTeam', {
    fields: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'name', label: 'Name' },
      { name: 'slug', label: 'Slug' },
      {
        name: 'risk_state',
        label: 'State',
        kind: 'state',
        tone: (team) => (team.risk_state === 'normal' ? 'good' : 'bad'),
      },
      { name: 'plan', label: 'Plan', value: ({ plan }) => `${plan.name} (${plan.code})` },
      {
        name: 'plan.limits',
        label: 'Emails',
        value: (team) => allowance(team),
        words: (team) => allowance(team, grouped),
      },
      { name: 'plan.limits.domain_limit', label: 'Domains', kind: 'number' },
      {
        name: 'plan.limits.retention_days',
        label: 'Retention',
        value: ({ plan }) => `${plan.limits.retention_days} days`,
      },
      { name: 'sender_identity.sender_name', label: 'Sender' },
      {
        name: 'sender_identity.postal_address',
        label: 'Address',
        value: ({ sender_identity: { postal_address: address } }) => address && postalLine(address),
      },
      { name: 'ai_assist_enabled', label: 'AI helpers', value: (team) => (team.ai_assist_enabled ? 'on' : 'off') },
      { name: 'sending.sandbox_regions', label: 'In sandbox' },
      { name: 'created_at', label: 'Created', kind: 'time' },
      { name: 'sender_identity', label: 'Sender identity', shown: 'asked' },
      { name: 'sso', label: 'SSO', shown: 'asked' },
      { name: 'sending', label: 'Sending', shown: 'asked' },
    ],
  }),
  actions: [
    declareAction('updateTeam', {
      current: currentIn('getTeam', (team) => ({ ...team, ...team.sender_identity })),
      done: 'Changed',
      describe: (team) => team.name,
      isShown: true,
    }),
  ],
  elsewhere: { listTeams: true, createTeam: true, switchTeam: true },
});

/** The teams of a person, of which their session works in one. */
export const ownTeams = {
  command: 'team',
  summary: 'list and switch your teams',
  noun: 'a team',
  isPeoples: true,
  screens: { list: 'teams' },
  list: declareList('listTeams', {
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'name', label: 'Name', kind: 'name' },
      { name: 'slug', label: 'Slug', kind: 'whole' },
      {
        name: 'risk_state',
        label: 'State',
        kind: 'state',
        tone: (team) => (team.risk_state === 'normal' ? 'good' : 'bad'),
      },
      { name: 'plan', label: 'Plan', value: ({ plan }) => plan.name },
      { name: 'created_at', label: 'Created', kind: 'time' },
      ...asked<TeamObject>(
        { name: 'ai_assist_enabled', label: 'AI helpers' },
        { name: 'sender_identity', label: 'Sender identity' },
        { name: 'sending', label: 'Sending' },
        { name: 'sso', label: 'SSO' },
      ),
    ],
    empty: 'You are in no team.',
  }),
  actions: [
    declareAction('createTeam', {
      done: 'Made',
      hint: ({ id }) => ({ words: 'Switch to it with', command: ['switchTeam', id] }),
    }),
    declareAction('switchTeam', { describe: ({ name }) => `Switched to the team ${name}.` }),
  ],
} satisfies Family;
