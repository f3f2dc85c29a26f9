import type { TeamObject } from '../../src/contract/index.ts';
import { grouped } from './field-value.ts';
import { actionOf, asked, currentIn, detailOf, listOf, type Family, type Key } from './family.ts';

type Address = NonNullable<TeamObject['sender_identity']['postal_address']>;

const postalLine = ({ line1, line2, city, state, postal_code: code, country }: Address): string =>
  [line1, line2, city, state, code, country].filter((part) => part !== null).join(', ');

function allowance({ plan: { limits } }: TeamObject, said: (count: number) => string = String): string {
  const daily = limits.daily_cap === null ? '' : `, ${said(limits.daily_cap)} a day`;
  return `${said(limits.included_emails)} a month${daily}`;
}

export const teams = {
  command: 'team',
  summary: 'your team: its plan, and who says in its mail that it is the sender',
  noun: 'a team',
  get: detailOf('getTeam', {
    summary: 'show your team',
    example: 'team get',
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
        label: 'Kept for',
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
    actionOf('updateTeam', {
      verb: 'update',
      key: 'u',
      summary: 'say who sends, or switch the AI helpers',
      description:
        'Changes what is named and keeps the rest. An address is replaced as a whole: give its line, city and country together.',
      example:
        "team update --sender-name 'Example Ltd' --line1 '1 Example Street' --city London --postal-code 'N1 1AA' --country GB",
      flags: {
        sender_name: { value: '<name>', says: 'who says in marketing mail that it is the sender' },
        'postal_address.line1': {
          isPart: true,
          flag: 'line1',
          value: '<text>',
          says: 'street and number, or a post office box',
        },
        'postal_address.line2': {
          isPart: true,
          flag: 'line2',
          value: '<text>',
          says: 'building, floor, care of',
          isClearable: true,
        },
        'postal_address.city': { isPart: true, flag: 'city', value: '<city>', says: 'the city' },
        'postal_address.state': {
          isPart: true,
          flag: 'state',
          value: '<state>',
          says: 'the state, province or county',
          isClearable: true,
        },
        'postal_address.postal_code': {
          isPart: true,
          flag: 'postal-code',
          value: '<code>',
          says: 'the postal code',
          isClearable: true,
        },
        'postal_address.country': {
          isPart: true,
          flag: 'country',
          value: '<code>',
          says: 'the country: two capital letters of ISO 3166-1, such as DE',
        },
        ai_assist_enabled: {
          flag: 'ai-assist',
          says: 'switch the AI helpers on',
          no: 'switch the AI helpers off',
          isBoolean: true,
        },
      },
      current: currentIn('getTeam', (team) => ({ ...team, ...team.sender_identity })),
      done: 'Changed',
      tell: (team) => team.name,
      isShown: true,
    }),
  ],
} satisfies Family;

const TEAM: Key = { word: 'team', says: 'its id or name' };

/** The teams of a person, of which their session works in one. */
export const ownTeams = {
  command: 'team',
  summary: 'the teams that you are in',
  noun: 'a team',
  isPeoples: true,
  screens: { list: 'teams' },
  list: listOf('listTeams', {
    summary: 'list the teams that you are in, newest first',
    example: 'team list',
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
    actionOf('createTeam', {
      verb: 'create',
      key: 'c',
      summary: 'make a team, whose owner you are',
      example: "team create 'Example Ltd'",
      flags: { name: { value: '<name>', says: 'what people call it', isWord: true, isRequired: true } },
      done: 'Made',
      hint: ({ id }) => ({ words: 'Work in it with', command: ['switchTeam', id] }),
    }),
    actionOf('switchTeam', {
      verb: 'switch',
      key: 's',
      summary: 'work in another of your teams',
      description:
        'From the next command on, what is read and changed is of that team, in the role that you have there.',
      example: "team switch 'Example Ltd'",
      path: { team_id: TEAM },
      tell: ({ name }) => `You work in the team ${name} now.`,
    }),
  ],
} satisfies Family;
