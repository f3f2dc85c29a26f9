import type { Command } from 'commander';
import { account } from '../../families/index.ts';
import { act, declareCommand } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';

/** Adds the commands for a person's account, which concern no team. */
export function addAccountCommands(program: Command): void {
  declareFamily(program, account, { add: addMfa });
}

function addMfa(parent: Command): void {
  const mfa = parent
    .command('mfa')
    .summary('manage the second factor of your sign-in')
    .description(
      'Manage the second factor of your sign-in: an authenticator app, and recovery codes in case you lose it.',
    );
  declareCommand(
    mfa,
    'status',
    { summary: 'show whether it is on, and how many recovery codes are left', example: 'account mfa' },
    { isDefault: true },
  ).action(act(async (session) => (await import('./mfa.ts')).printMfa(session)));
  declareCommand(mfa, 'enable', {
    summary: 'set up an authenticator app, and show ten recovery codes',
    description:
      'Enable your second factor. The command asks for your password, shows a QR code and a key for your authenticator app, asks for a code from the app, and prints ten recovery codes, which are shown only once. This ends your other sessions, including the one of this terminal, and revokes the access of apps.',
    example: 'account mfa enable',
  }).action(act(async (session) => (await import('./mfa.ts')).enableMfa(session), { key: false }));
  declareCommand(mfa, 'disable', {
    summary: 'turn it off, with a code or a recovery code',
    example: 'account mfa disable',
  }).action(act(async (session) => (await import('./mfa.ts')).disableMfa(session), { key: false }));
  declareCommand(mfa, 'codes', {
    summary: 'create ten new recovery codes; the old ones stop working',
    example: 'account mfa codes',
  }).action(act(async (session) => (await import('./mfa.ts')).replaceCodes(session), { key: false }));
}
