// The rules for the JavaScript of the pages. The packages are below .venv, where `make check-js` installs them.
import { createRequire } from "node:module";

const { configs } = createRequire(new URL("../../.venv/js/", import.meta.url))("@eslint/js");

/** Without a type for each parameter of an exported function, no call of it from another module is checked. */
const typedExports = {
  create(context) {
    const check = (node) => {
      const comment = context.sourceCode.getCommentsBefore(node).at(-1)?.value ?? "";
      const typed = comment.match(/@param\s+\{/g)?.length ?? 0;
      const { id, params } = node.declaration ?? {};
      if (params?.length && !comment.includes("@type ") && typed < params.length) {
        context.report({ node, message: `Give the parameters of ${id.name} types, in a comment before it.` });
      }
    };
    return { ExportNamedDeclaration: check };
  },
};

export default [
  configs.recommended,
  {
    files: ["**/static/**/*.js"],
    plugins: { colloquy: { rules: { "typed-exports": typedExports } } },
    rules: { "colloquy/typed-exports": "error" },
  },
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      eqeqeq: "error",
      "max-len": ["error", { code: 120 }],
      "no-constructor-return": "error",
      "no-empty": ["error", { allowEmptyCatch: true }],
      "no-promise-executor-return": "error",
      "no-self-compare": "error",
      "no-undef": "off", // TypeScript knows the names of the browser
      "no-unmodified-loop-condition": "error",
      "no-unused-expressions": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "no-useless-return": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": ["error", { destructuring: "all" }],
      quotes: ["error", "double", { avoidEscape: true }],
      semi: "error",
    },
  },
  // Plain scripts, whose one name survey.js reads.
  { files: ["**/survey-typed.js", "**/local-times.js"], rules: { "no-unused-vars": "off" } },
];
