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
          .addOption(new Option('--csv', 'write it as CSV, for a spreadsheet').conflicts(['print', 'fields', 'json']))
          .addOption(new Option('--print', 'write it as a page to print').conflicts(['csv', 'fields', 'json']))
          .option('--output <file>', 'where --csv or --print writes to; standard output unless said otherwise')
          .option('--force', 'replace the file where it is there already'),
      show: async (...call) => (await import('./show-invoice.ts')).showInvoice(...call),
    },
  });
}
