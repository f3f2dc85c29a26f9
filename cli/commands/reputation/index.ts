import type { Command } from 'commander';
import { domainReputation, reputation } from '../../families/reputation.ts';
import { wholeNumber } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';

export const addReputationCommands = (program: Command): void =>
  declareFamily(program, reputation, {
    actions: {
      reputation: {
        add: (command) =>
          void command.option(
            '--limit <n>',
            'how many lines to show, 1 to 500, those with most mail first (default: 100)',
            wholeNumber,
          ),
        run: async (...call) => (await import('./show.ts')).showReputation(...call),
      },
    },
  });

export const addDomainReputationCommand = (program: Command): void =>
  declareFamily(program, domainReputation, {
    actions: {
      reputation: { run: async (...call) => (await import('./show.ts')).showDomainReputation(...call) },
    },
  });
