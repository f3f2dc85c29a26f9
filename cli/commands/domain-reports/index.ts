import { Option, type Command } from 'commander';
import { domainReports } from '../../families/domain-reports.ts';
import { declareFamily } from '../declare-family.ts';

export function addDomainReportCommands(program: Command): void {
  declareFamily(program, domainReports, {
    actions: {
      reports: {
        add: (command) =>
          void command.addOption(
            new Option('--since <time>', 'the days since 7d ago; the same as --start-date').conflicts('startDate'),
          ),
        run: async (...call) => (await import('./summary.ts')).showSummary(...call),
      },
    },
  });
}
