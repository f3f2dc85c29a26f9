import type { Command } from 'commander';
import { domainClaims } from '../../families/domain-claims.ts';
import { wholeNumber } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';

/** Claims are of domains, and are spoken of with them: `rasket domains claim`. */
export const addDomainClaimCommands = (program: Command): void =>
  declareFamily(program, domainClaims, {
    actions: {
      claim: {
        add: (command) =>
          command
            .option('--wait', 'check every minute until the claim has ended or is blocked; the exit status tells which')
            .option('--wait-minutes <n>', 'wait at most this long (default: 60)', wholeNumber),
        run: async (...call) => (await import('./claim.ts')).claimDomain(...call),
      },
    },
  });
