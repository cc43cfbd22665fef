SwaggerUIBundle({
  url: "{{ url('openapi') }}",
  domNode: document.getElementById("docs"),
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  persistAuthorization: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
