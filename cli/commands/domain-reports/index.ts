import type { Command } from 'commander';
import { domainReports } from '../../families/domain-reports.ts';
import { declareFamily } from '../declare-family.ts';

export function addDomainReportCommands(program: Command): void {
  declareFamily(program, domainReports, {
    actions: {
      reports: { run: async (...call) => (await import('./summary.ts')).showSummary(...call) },
    },
  });
}
