import { Option, type Command } from 'commander';
import { billing, billingPlans, invoices } from '../../families/index.ts';
import { declareFamily } from '../declare-family.ts';

export function addBillingCommands(program: Command): void {
  declareFamily(program, billing);
  declareFamily(program, billingPlans);
  declareFamily(program, invoices, {
    shown: {
      add: (command) =>
        void command
          .addOption(new Option('--csv', 'print it as CSV, for a spreadsheet').conflicts(['print', 'fields', 'json']))
          .addOption(
            new Option('--print', 'print it as an HTML page for a printer').conflicts(['csv', 'fields', 'json']),
          )
          .option('--output <file>', 'the file that --csv or --print writes (default: standard output)')
          .option('--force', 'replace an existing file'),
      show: async (...call) => (await import('./show-invoice.ts')).showInvoice(...call),
    },
  });
}
