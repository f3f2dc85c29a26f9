import ts from 'typescript';
import type { SourceFile } from '../tidy/tree.ts';

/** The names of all functions that a file declares at its top level. */
export function listFunctions({ path, text }: SourceFile): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  return file.statements.flatMap((statement) => {
    if (ts.isFunctionDeclaration(statement)) return statement.body && statement.name ? [statement.name.text] : [];
    if (!ts.isVariableStatement(statement)) return [];
    return statement.declarationList.declarations
      .filter(
        ({ initializer }) => initializer && (ts.isArrowFunction(initializer) || ts.isFunctionExpression(initializer)),
      )
      .map(({ name }) => name.getText(file));
  });
}
