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
            .option('--wait', 'check every minute until the claim is over or blocked, and say so by the exit status')
            .option('--wait-minutes <n>', 'how long to wait at most (default: 60)', wholeNumber),
        run: async (...call) => (await import('./claim.ts')).claimDomain(...call),
      },
    },
  });
