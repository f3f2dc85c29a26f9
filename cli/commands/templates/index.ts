import type { Command } from 'commander';
import { templates } from '../../families/templates.ts';
import { act, collect, declareCommand } from '../declare.ts';
import { addWords, declareFamily } from '../declare-family.ts';
import { nameFields } from '../field-names.ts';

export const addTemplateCommands = (program: Command): void =>
  declareFamily(program, templates, (parent) => {
    declareCreate(parent);
    declareUpdate(parent);
  });

function declareCreate(parent: Command): void {
  const create = declareCommand(parent, 'create', {
    summary: 'write a template',
    description:
      'Writes a template as a draft; publish it before sending with it. {{{KEY}}} or {{{KEY|default}}} in HTML, text and subject is where a value goes.',
    example:
      "templates create 'Order confirmation' --html '<p>{{{PRODUCT}}}</p>' --variable 'PRODUCT=your item' --alias order-confirmation",
  }).argument('<name>', 'what you call it; recipients never see it');
  addContent(create).action(
    act(async (session, [name = ''], options) => (await import('./create.ts')).createTemplate(session, name, options)),
  );
}

function declareUpdate(parent: Command): void {
  const update = declareCommand(parent, 'update', {
    summary: 'change a template',
    description:
      'Changes what is named and leaves the rest as it is. Changed content is a draft until it is published; name and alias change at once.',
    example: "templates update order-confirmation --subject 'Your order of {{{PRODUCT}}}'",
  });
  addContent(addWords(update, templates.get.path))
    .option('--name <name>', 'what you call it')
    .option('--clear <field>', 'take away alias, from, subject, reply_to, text or variables; repeatable', collect)
    .action(
      act(async (session, [template = ''], options) =>
        (await import('./update.ts')).updateTemplate(session, template, options),
      ),
    );
}

function addContent(command: Command): Command {
  return nameFields(command, { variables: '--variable' })
    .option('--html <html>', 'the HTML')
    .option('--html-file <file>', 'a file with the HTML, - for standard input')
    .option('--text <text>', 'the plain text')
    .option('--text-file <file>', 'a file with the plain text, - for standard input')
    .option('--subject <text>', 'the subject of sends that name none')
    .option('--from <address>', 'the sender of sends that name none')
    .option('--reply-to <address>', 'where answers go; repeatable', collect)
    .option('--alias <alias>', 'a name to send and read it by')
    .option(
      '--variable <declaration>',
      'KEY, KEY=fallback, KEY:number or KEY:number=25; repeatable, and all together replace those before',
      collect,
    );
}
