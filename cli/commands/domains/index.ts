import type { Command } from 'commander';
import { domains } from '../../families/domains.ts';
import { senderRules } from '../../families/sender-rules.ts';
import { wholeNumber } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';
import { addDnsCommands } from '../dns/index.ts';
import { addDomainReportCommands } from '../domain-reports/index.ts';
import { addDomainReputationCommand } from '../reputation/index.ts';

const addZone = (command: Command): Command => command.option('--zone', 'print the records as lines of a zone file');

export function addDomainCommands(program: Command): void {
  declareFamily(program, domains, {
    shown: {
      add: addZone,
      show: async ({ terminal }, item, { zone }) =>
        (await import('./records.ts')).printDomain(terminal, item as never, zone === true),
    },
    actions: {
      verify: { run: async (...call) => (await import('./verify.ts')).verifyDomain(...call) },
      rotate: {
        description:
          'Add new DKIM keys next to the old ones, show the records to publish, wait until they are found in DNS, and exit when the new key signs. You can remove the old records a week later.',
        add: (command) =>
          addZone(
            command
              .option('--no-wait', 'show the records and do not wait for them')
              .option('--wait-minutes <n>', 'how long to wait for the records', wholeNumber, 60),
          ),
        run: async (...call) => (await import('./rotate.ts')).rotate(...call),
      },
    },
  });
  addDnsCommands(program);
  addDomainReportCommands(program);
  addDomainReputationCommand(program);
  declareFamily(program, senderRules);
}
