import type { TeamObject } from '../../src/contract/index.ts';
import {
  adviseFor,
  readIn,
  declareAction,
  declareDetail,
  declareFamily,
  declareList,
  withRemaining,
} from './family.ts';
import type { Fields } from './family.ts';
import { grouped } from './field-value.ts';

type Address = NonNullable<TeamObject['sender_identity']['postal_address']>;

const postalLine = ({ line1, line2, city, state, postal_code: code, country }: Address): string =>
  [line1, line2, city, state, code, country].filter((part) => part !== null).join(', ');

function allowance({ plan: { limits } }: TeamObject, said: (count: number) => string = String): string {
  const daily = limits.daily_cap === null ? '' : `, ${said(limits.daily_cap)} a day`;
  return `${said(limits.included_emails)} a month${daily}`;
}

const fields: Fields<TeamObject> = {
  risk_state: { label: 'State', tone: (team) => (team.risk_state === 'normal' ? 'good' : 'bad') },
};

export const teams = withRemaining({
  summary: 'show and change your team, its plan and its sender identity',
  noun: 'a team',
  get: declareDetail('getTeam', {
    fields: {
      ...fields,
      name: { kind: 'text' },
      slug: { kind: 'text' },
      plan: { value: ({ plan }) => `${plan.name} (${plan.code})` },
      'plan.limits': { label: 'Emails', value: (team) => allowance(team), words: (team) => allowance(team, grouped) },
      'plan.limits.domain_limit': { label: 'Domains', kind: 'number' },
      'plan.limits.retention_days': { label: 'Retention', value: ({ plan }) => `${plan.limits.retention_days} days` },
      'sender_identity.sender_name': 'Sender',
      'sender_identity.postal_address': {
        label: 'Address',
        value: ({ sender_identity: { postal_address: address } }) => address && postalLine(address),
      },
      default_language: 'Language',
      language_property: 'Language of contacts',
      logo_url: 'Logo',
      accent_color: 'Color',
      page_headline: 'Headline',
      page_intro: 'Intro',
      page_goodbye: 'Goodbye',
      marketing_cap: {
        label: 'Marketing cap',
        value: ({ marketing_cap: cap }) =>
          cap &&
          `${cap.emails} ${cap.emails === 1 ? 'email' : 'emails'} in ${cap.days} ${cap.days === 1 ? 'day' : 'days'}`,
      },
      archive_enabled: { label: 'Archive', either: ['on', 'off'] },
      archive_indexed: { label: 'In search engines', either: ['yes', ''] },
      archive_url: 'Archive page',
      ai_assist_enabled: { either: ['on', 'off'] },
      'sending.sandbox_regions': 'In sandbox',
    },
    columns: [
      'id',
      'name',
      'slug',
      'risk_state',
      'plan',
      'plan.limits',
      'plan.limits.domain_limit',
      'plan.limits.retention_days',
      'sender_identity.sender_name',
      'sender_identity.postal_address',
      'default_language',
      'language_property',
      'logo_url',
      'accent_color',
      'page_headline',
      'page_intro',
      'page_goodbye',
      'marketing_cap',
      'archive_enabled',
      'archive_indexed',
      'archive_url',
      'ai_assist_enabled',
      'sending.sandbox_regions',
      'created_at',
    ],
    asked: ['sender_identity', 'sso', 'sending'],
  }),
  actions: [
    declareAction('updateTeam', {
      current: readIn('getTeam', (team) => ({ ...team, ...team.sender_identity })),
      done: 'Changed',
      describe: (team) => team.name,
      isShown: true,
    }),
    declareAction('renewArchive', {
      destroys: {
        says: 'end the current address of the archive and of all its pages permanently',
        name: readIn('getTeam', (team) => team.name),
      },
      describe: (team) => team.archive_url ?? 'The archive is off. It has a new address when it is switched on.',
    }),
  ],
  elsewhere: { listTeams: true, createTeam: true, switchTeam: true },
});

/** The teams of a person, of which their session works in one. */
export const ownTeams = declareFamily({
  noun: 'a team',
  isPeoples: true,
  screens: { list: 'teams' },
  list: declareList('listTeams', {
    fields: { ...fields, plan: { value: ({ plan }) => plan.name } },
    columns: ['id', 'name', 'slug', 'risk_state', 'plan', 'created_at'],
    asked: [
      'ai_assist_enabled',
      'accent_color',
      'archive_enabled',
      'archive_indexed',
      'archive_url',
      'default_language',
      'language_property',
      'logo_url',
      'marketing_cap',
      'page_goodbye',
      'page_headline',
      'page_intro',
      'sender_identity',
      'sending',
      'sso',
    ],
    empty: 'You are in no team.',
  }),
  actions: [
    declareAction('createTeam', { done: 'Made', hint: adviseFor('Switch to it with', 'switchTeam') }),
    declareAction('switchTeam', { describe: ({ name }) => `Switched to the team ${name}.` }),
  ],
});
